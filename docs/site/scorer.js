// Order of what the search finds: guides before the reference, figures and changes last.
var Scorer = {
  score: ([page, title, anchor, description, score]) => {
    if (/^examples\/plot_0/.test(page)) return score + 25;
    if (/^generated\/(changelog|contributing|experiments|engine|forest)/.test(page)) return score - 15;
    if (/^generated\/(security|commands)/.test(page)) return score + 15;
    if (/^generated\//.test(page)) return score;
    if (/^(measurements|mathematics|architecture)/.test(page)) return score - 5;
    return score + 15;
  },
  objNameMatch: 11,
  objPartialMatch: 6,
  objPrio: {0: 15, 1: 5, 2: -5},
  objPrioDefault: 0,
  title: 15,
  partialTitle: 7,
  term: 5,
  partialTerm: 2,
};
