"""What commands print."""

import json

import pytest

pytest.importorskip("typer", reason="the command line is not installed")
from command_line import QUICK, run
from ssgp.cli.output import Output, glossary
from ssgp.cli.printing import line_width


def test_json_has_no_words_that_are_not_json(capsys):
    Output(as_json=True).result({"mnlp": float("inf"), "parts": [{"r2": float("nan")}, 1.5]}, "")
    assert json.loads(capsys.readouterr().out) == {"mnlp": None, "parts": [{"r2": None}, 1.5], "warnings": []}


# Clears the screen, names the window, turns text around, and what no encoding can write.
HOSTILE = "x\x1b[2J\x1b]0;mine\x07\u202e\x9b"


def is_harmless(text):
    return all(character == "\n" or character.isprintable() for character in text)


def test_nothing_reaches_a_terminal_that_it_would_obey(tmp_path):
    rows = "\n".join(f"{k % 3}\x1b[31m,{k},{k * k % 7}" for k in range(30))
    (tmp_path / "t.csv").write_text(f"town{HOSTILE},{HOSTILE},y\n{rows}", encoding="utf-8")
    data, model = tmp_path / "t.csv", tmp_path / "m"
    commands = [
        ("fit", data, "--target", "y", *QUICK, "--out", model),
        ("inspect", model),
        ("predict", model, data, "--keep", "all", "--out", tmp_path / "p.csv"),
        ("evaluate", model, data),
        ("fit", data, "--target", "z", "--out", model),
        ("fit", data, "--target", f"town{HOSTILE}", "--out", model, "--debug"),
        ("fit", data, "--target", "y", "--set", f"{HOSTILE}=1", "--out", model),
        ("fit", tmp_path / HOSTILE, "--target", "y", "--out", model),
        (HOSTILE,),
    ]
    for command in commands:
        code, out, err = run(*command)
        assert code == (0 if command in commands[:4] else 2 if command in (commands[4], *commands[6::2]) else 1), err
        assert is_harmless(out + err)
    assert "x\\x1b[2J\\x1b]0;mine\\x07\\u202e\\x9b" in run("inspect", model)[1]


def test_other_scripts_are_printed_as_they_are(capsys):
    Output().say("größe 高さ 👩\u200d🌾 שלום\nnext")
    assert capsys.readouterr().out == "größe 高さ 👩\u200d🌾 שלום\nnext\n"


@pytest.mark.parametrize(("columns", "expected"), [(80, 80), (300, 118)])
def test_explanations_are_as_wide_as_the_terminal(monkeypatch, columns, expected):
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    monkeypatch.setenv("COLUMNS", str(columns))
    assert line_width() == expected
    text = glossary({"MNLP": "mean negative log density " * 20, "R2": "share"}, line_width())
    assert expected - 12 < max(map(len, text.splitlines())) <= expected
    assert all(line.startswith(("MNLP   mean", "R2     share", " " * 7)) for line in text.splitlines())


def test_explanations_in_files_are_of_one_width(monkeypatch):
    monkeypatch.setattr("sys.stdout.isatty", lambda: False)
    monkeypatch.setenv("COLUMNS", "60")
    assert line_width() == 118
