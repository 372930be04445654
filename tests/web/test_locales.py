"""The texts of the pages: complete in every language, and a language is a file."""

import json
import re
import shutil

import pytest

from omnimeter.scenes import ARROWS, SYMBOLS
from omnimeter.web import server
from omnimeter.web.server import STATIC, languages, texts_of
from omnimeter.web.studies import STANDARD, Design

BATTERY = {
    "title": "Cups",
    "exercises": [{"environment_class": "cups-v1", "interactions": 3}],
}


def test_there_are_english_and_spanish():
    assert languages().keys() >= {"en", "es"}


@pytest.mark.parametrize("language", sorted(languages().keys() - {"en"}))
def test_a_language_is_complete(language):
    english, other = languages()["en"], languages()[language]
    assert list(other) == list(english)
    for key, text in english.items():
        assert other[key].strip()
        assert set(re.findall(r"\{\w+\}", other[key])) == set(re.findall(r"\{\w+\}", text))


def test_what_the_pages_say_has_texts():
    known = languages()["en"].keys()
    scripts = ("participant", "at-kiosk", "kiosk", "scene")
    pages = "".join((STATIC / f"{each}.js").read_text(encoding="utf-8") for each in scripts)
    used = {
        *re.findall(r'\btext\("([\w-]+)"', pages),
        *re.findall(r'answerButton\("([\w-]+)"', pages),
        *re.findall(r'say\(texts, "([\w-]+)"', pages),
    }
    assert len(used) > 30
    assert used <= known
    for stage in ("declined", "thanks", "blocked", "trouble", "withdrawn", "expired", "unknown"):
        assert {f"{stage}-title", f"{stage}-text"} <= known
    assert {f"question-{each.name}" for each in STANDARD} <= known
    assert {f"contains-{each}" for each in ("circle", *SYMBOLS)} <= known
    assert {f"button-{each}" for each in ARROWS} <= known


def test_a_language_is_added_by_a_file(tmp_path, monkeypatch):
    static = tmp_path / "static"
    shutil.copytree(STATIC, static)
    texts = {**languages()["en"], "language": "Esperanto", "ready-start": "Ek"}
    (static / "locales" / "eo.json").write_text(json.dumps(texts), encoding="utf-8")
    monkeypatch.setattr(server, "STATIC", static)
    told = texts_of(Design("A study", BATTERY, language="eo"))
    assert told["language"] == "eo"
    assert told["texts"]["ready-start"] == "Ek"


def test_a_language_without_a_file_is_english():
    told = texts_of(Design("A study", BATTERY, language="xx"))
    assert told["language"] == "en"
    assert told["texts"] == languages()["en"]
    assert told["questions"][0]["text"] == languages()["en"]["question-motivation"]
