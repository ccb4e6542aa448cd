"""Figures in a page: their identifiers are their own."""

from ssgp.report.web_page import inline_svg


def test_identifiers_of_a_figure_become_its_own():
    svg = '<?xml?><svg><path id="a"/><use xlink:href="#a"/><g clip-path="url(#a)"/></svg>'
    assert inline_svg(svg, "one", "A <figure>") == (
        '<svg role="img" aria-label="A &lt;figure&gt;"><path id="one-a"/><use xlink:href="#one-a"/>'
        '<g clip-path="url(#one-a)"/></svg>'
    )


def test_names_that_look_like_identifiers_stay():
    svg = '<svg><path id="a"/><!-- the id="b" --><text>the id="b" of url(#c)</text></svg>'
    assert inline_svg(svg, "one").endswith('<text>the id="b" of url(#c)</text></svg>')
