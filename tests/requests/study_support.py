"""A small study with its data, for the tests of all its verbs."""

from pathlib import Path

STUDY = """
[study]
title = "Health survey 2026"
source = "survey.csv"
dataset = "survey"
id = "participant"
public = "total"
epsilon = 1.0

[tables.smoking]
column = "smoking"
categories = ["never", "former", "current"]
by.age = ["18-34", "35-54", "55+"]
weight = 2

[tables.exercise]
column = "hours"
bands = [0, 1, 3, 7]
"""
ANSWERS = [("never", "0.5", "18-34"), ("former", "2", "35-54"), ("current", "7", "55+"), ("never", "3", "55+")]


def written(folder: Path, study: str = STUDY, *more: str) -> Path:
    """The files of a study of sixty persons, with more lines of data."""
    lines = [f"p{number},{','.join(ANSWERS[number % len(ANSWERS)])}" for number in range(60)]
    (folder / "survey.csv").write_text("\n".join(["participant,smoking,hours,age", *lines, *more]) + "\n")
    (folder / "study.toml").write_text(study)
    return folder / "study.toml"
