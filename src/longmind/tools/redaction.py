"""Credentials in what a tool is about to answer: found by their shapes, and taken out.

A memory is prose that a model wrote, so the shapes are narrow: a prefix that nothing but a key has, or a name such as
`api_key=` before a value. Looking for texts that merely seem random would take words of every language for keys.
"""

from __future__ import annotations

import re
from functools import cache
from typing import Any

REDACTED = "[REDACTED]"

# A value that stands after its name. Words of prose have no digit, and a key hardly ever has none. What looks ahead
# does not look far: a long text must not be read again from each of its places.
_VALUE = r"(?=[^\s\"',;]{0,128}\d)[^\s\"',;]{8,512}"
_SHORT_VALUE = r"(?=[^\s\"',;]{0,128}\d)(?=[^\s\"',;]{0,128}[a-z])[^\s\"',;]{6,512}"
# Names of keys and names of files have digits too, but no long run of letters and digits.
_RANDOM = r"(?=[\w-]{0,64}?[A-Za-z0-9]{16})(?=[\w.-]{0,128}\d)"
# What stands in the place of a value: nothing, a variable, a hint to fill something in, or a call of a program.
_NO_VALUE = (
    r"(?!(?:none|null|nil|true|false|undefined)\b|\$\{\w+\}|(?-i:\$[A-Z][A-Z0-9_]+)|<[^>]{1,40}>|\*{3}"
    r"|(?:os|process|settings|config|self)\.[a-z]|[a-z_]+(?:\.[a-z_]+){0,4}\(\))"
)
_BEFORE_NAME = r"(?<![\w-])[\w-]{0,40}?"

# Each shape with texts of which it has one at the least: what has none of them all need not be looked at closely.
_WHOLE = {
    # A private key, to its end or, where that was cut off, to the end of the text.
    r"-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----(?s:.*?)(?:-----END [A-Z0-9 ]{0,40}-----|\Z)": ("PRIVATE",),
    r"\beyJ[\w-]{8,}\.[\w-]{8,}(?:\.[\w-]*)?": ("eyJ",),  # a JSON web token
    r"\bgh[pousr]_[A-Za-z0-9]{20,}": ("ghp_", "gho_", "ghu_", "ghs_", "ghr_"),
    r"\bgithub_pat_\w{20,}": ("github_pat_",),
    r"\bgl(?:pat|ptt|rt|dt)-[\w-]{20,}": ("glpat-", "glptt-", "glrt-", "gldt-"),
    r"\bAIza[\w-]{30,}": ("AIza",),
    r"\bya29\.[\w-]{20,}": ("ya29.",),
    r"\bGOCSPX-[\w-]{20,}": ("GOCSPX-",),
    # OpenAI, Anthropic, Stripe and many others
    rf"\b[srp]k[-_]{_RANDOM}[\w-]{{16,}}": ("sk-", "rk-", "pk-", "sk_", "rk_", "pk_"),
    r"\bwhsec_\w{20,}": ("whsec_",),
    r"\b(?:AKIA|ASIA)[A-Z0-9]{16}\b": ("AKIA", "ASIA"),
    r"\b(?:xox[abeoprs]|xapp)-(?=[\w-]{0,64}\d)[\w-]{10,}": ("xox", "xapp-"),
    r"\bnpm_[A-Za-z0-9]{30,}": ("npm_",),
    r"\bpypi-[\w-]{30,}": ("pypi-",),
    r"\bhf_[A-Za-z0-9]{30,}": ("hf_",),
    r"\bdop_v1_[a-f0-9]{40,}": ("dop_v1_",),
    r"\bSG\.[\w-]{16,}\.[\w-]{16,}": ("SG.",),
    r"\b\d{8,10}:AA[\w-]{33}\b": (":AA",),  # a bot of Telegram
    r"\bAGE-SECRET-KEY-1[A-Z0-9]{20,}": ("AGE-SECRET",),
    # Shopify, Groq, xAI, Perplexity, Replicate, Tavily, Linear, Notion, Databricks, Doppler, Vault, Square, Atlassian
    rf"\b(?:shp(?:at|ca|pa|ss)_|gsk_|xai-|pplx-|r8_|tvly-|lin_api_|ntn_|secret_|dapi|dp\.pt\.|hvs\.|sq0(?:atp|csp)-|ATATT)"
    rf"{_RANDOM}[\w.=-]{{20,}}": (
        *("shpat_", "shpca_", "shppa_", "shpss_", "gsk_", "xai-", "pplx-", "r8_", "tvly-", "lin_api_", "ntn_"),
        *("secret_", "dapi", "dp.pt.", "hvs.", "sq0", "ATATT"),
    ),
}
# Of these, capitals do not matter. What stands before the credential is kept: it says what was taken out.
_AFTER = {
    r"(?P<address>\b[a-z][a-z0-9+.\-]{1,30}://)[^\s/@:\"']{0,256}:[^\s/@\"']{1,256}@[^\s\"']+": ("://",),
    r"(?P<authorization>\bauthorization[\"']?\s{0,3}[:=]\s{0,3}[\"']?(?:bearer|basic|token)\s{1,3})[^\s\"',;]{4,}": (
        "authorization",
    ),
    r"(?P<bearer>\bbearer(?:\s{1,3}token)?[:=]?\s{1,3})(?=[^\s\"',;]{0,128}\d)[\w.~+/\-]{12,}=*": ("bearer",),
    r"(?P<hook>\bhooks\.slack\.com/services/|\bdiscord(?:app)?\.com/api/webhooks/)[\w/-]{20,}": (
        "slack.com",
        "discord",
    ),
    r"(?P<header>\bx[-_]api[-_]key[\"']?\s{0,3}[:=]\s{0,3}[\"']?)[^\s\"',;]{4,512}": ("key",),
    rf"(?P<key>\bapi[-_ ]?key[\"']?\s{{0,3}}(?:[:=]|\bis\b)\s{{0,3}}[\"']?){_NO_VALUE}{_VALUE}": ("key",),
    # Written together it is one whatever it looks like; "pwd" is also the name of a folder.
    rf"(?P<assigned>{_BEFORE_NAME}(?:(?:api|account|access|secret|private)[-_]?key|secret|password|passwd|passphrase|_pass"
    rf"|pwd(?!=[\"']?[/~])|token)=[\"']?){_NO_VALUE}[^\s\"',;&]{{4,512}}": (
        *("key=", "secret=", "password=", "passwd=", "passphrase=", "_pass=", "pwd=", "token="),
    ),
    r"(?P<field>\\?[\"'][\w-]{0,40}?(?:(?:api|access|secret|private)[_-]?key|secret|password|passwd|token)\\?[\"']"
    rf"\s{{0,3}}:\s{{0,3}}\\?[\"']){_NO_VALUE}[^\"'\\]{{4,512}}": ("key", "secret", "password", "passwd", "token"),
    rf"(?P<named>{_BEFORE_NAME}(?:(?:access|secret|private)[-_]?key|secret|password|passwd|passphrase|token)"
    rf"\s{{0,3}}[:=]\s{{0,3}}[\"']?){_NO_VALUE}{_SHORT_VALUE}": ("key", "secret", "pass", "token"),
}
_MARKS = tuple(mark for marks in _WHOLE.values() for mark in marks)
_FOLDED_MARKS = tuple(dict.fromkeys(mark for marks in _AFTER.values() for mark in marks))


@cache
def _patterns() -> tuple[re.Pattern[str], re.Pattern[str]]:
    # Compiled at the first use: that takes as long as to load a good part of Longmind.
    return re.compile("|".join(_WHOLE)), re.compile("|".join(_AFTER), re.IGNORECASE)


def redact(text: str) -> str:
    """The text without credentials."""
    whole, after = _patterns()
    if any(mark in text for mark in _MARKS):
        text = whole.sub(REDACTED, text)
    folded = text.casefold()
    if any(mark in folded for mark in _FOLDED_MARKS):
        text = after.sub(lambda found: f"{found[found.lastgroup or 0]}{REDACTED}", text)
    return text


def redact_json(value: Any, path: str = "") -> tuple[Any, list[str]]:
    """JSON with the credentials taken out of its texts, and the places where there were any."""
    match value:
        case str():
            clean = redact(value)
            return clean, [path] if clean != value else []
        case dict():
            pairs = {name: redact_json(member, f"{path}.{name}" if path else name) for name, member in value.items()}
            return {name: clean for name, (clean, _) in pairs.items()}, [
                each for _, at in pairs.values() for each in at
            ]
        case list():
            members = [redact_json(member, f"{path}[{place}]") for place, member in enumerate(value)]
            return [clean for clean, _ in members], [each for _, at in members for each in at]
        case _:
            return value, []
