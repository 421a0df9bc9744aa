"""The rules for the package's own code: a planted fault for each, and code that is right beside it."""

from __future__ import annotations

import pytest

from tools.security import EXPLAINED, PACKAGE, RULES, findings, of_package

PLANTED = {
    "never": [
        "eval(text)",
        "exec(text)",
        "import pickle",
        "from pickle import loads",
        "import xml.etree.ElementTree",
        "yaml.load(text)",
        "os.system('ls')",
        "hashlib.md5(text)",
        "tempfile.mktemp()",
    ],
    "shell": ["subprocess.run('ls', shell=True)", "subprocess.run(text)", "subprocess.Popen(f'ls {text}')"],
    "unverified": ["httpx.get(text, timeout=1, verify=False)"],
    "endless": ["urllib.request.urlopen(text)", "httpx.get(text)", "socket.create_connection(text)"],
    "secret": ["ok = key.digest == digest", "ok = given != self.api_key"],
    "assert": ["def f(name):\n    assert len(name) < 10", "def f(a):\n    b = a.x\n    assert b > 0"],
    "pattern": [
        "def f(query):\n    return re.search(query, 'x')",
        "def f(query):\n    words = f'({query})'\n    return re.compile(words)",
        "def f(query):\n    def g():\n        return re.sub('a' + query, '', 'x')",
        "f = lambda query: re.match(query, 'x')",
    ],
    "logged": ["log.info(f'said {text}')", "logger.warning(text)", "logging.log(10, 'a' + text)"],
    "opened": ["def f(name):\n    return open('/srv/' + name)", "def f(name):\n    path = name\n    return Path(path)"],
}

RIGHT = [
    "hashlib.md5(text, usedforsecurity=False)",
    "subprocess.run(['ls', text])",
    "httpx.get(text, timeout=5)",
    "hmac.compare_digest(key.digest, digest)",
    "ok = message.role == role",
    "def f(row):\n    assert row is not None\n    assert isinstance(row, tuple)",
    "def f(query):\n    return re.search(re.escape(query), 'x')",
    "def f(query):\n    return re.search('a+', query)",
    "log.info('said', extra={'text': text})",
    "def f(settings):\n    return open(settings.file)",
]


def test_every_rule_has_a_planted_fault() -> None:
    assert PLANTED.keys() == RULES.keys()


@pytest.mark.parametrize(("rule", "code"), [(rule, code) for rule, codes in PLANTED.items() for code in codes])
def test_a_planted_fault_is_found(rule: str, code: str) -> None:
    assert [each.rule for each in findings(code, "server/planted.py")] == [rule]


@pytest.mark.parametrize("code", RIGHT)
def test_what_is_right_is_left_alone(code: str) -> None:
    assert findings(code, "server/right.py") == []


def test_a_finding_says_where_it_is() -> None:
    (found,) = findings("x = 1\ny = eval('x')", "server/planted.py")
    assert str(found) == "server/planted.py:2: never: eval must not be used in this package"


def test_the_package_has_nothing_that_the_rules_forbid() -> None:
    assert [str(each) for each in of_package()] == []


def test_every_explanation_is_still_needed(monkeypatch: pytest.MonkeyPatch) -> None:
    explained = dict(EXPLAINED)
    EXPLAINED.clear()
    try:
        needed = {(each.path, each.rule) for each in of_package(PACKAGE)}
    finally:
        EXPLAINED.update(explained)
    assert needed == explained.keys()
