"""Redaction of credentials in the answers of tools, by the shapes of credentials.

A memory is prose that a model wrote, so the shapes are narrow: a prefix that only keys have, or a name such as
`api_key=` before a value. Matching text that merely looks random would take words of many languages for keys.
"""

from __future__ import annotations

import re
from functools import cache
from typing import Any

REDACTED = "[REDACTED]"

# A value after its name. Words of prose have no digit, and hardly any key has none. Lookaheads are bounded: a long text
# must not be scanned again from each of its positions.
_VALUE = r"(?=[^\s\"',;]{0,128}\d)[^\s\"',;]{8,512}"
_SHORT_VALUE = r"(?=[^\s\"',;]{0,128}\d)(?=[^\s\"',;]{0,128}[a-z])[^\s\"',;]{6,512}"
# Names of keys and of files have digits too, but no long run of letters and digits.
_RANDOM = r"(?=[\w-]{0,64}?[A-Za-z0-9]{16})(?=[\w.-]{0,128}\d)"
# Placeholders where a value would be: null, a variable, a hint to fill something in, or a function call.
_NO_VALUE = (
    r"(?!(?:none|null|nil|true|false|undefined)\b|\$\{\w+\}|(?-i:\$[A-Z][A-Z0-9_]+)|<[^>]{1,40}>|\*{3}"
    r"|(?:os|process|settings|config|self)\.[a-z]|[a-z_]+(?:\.[a-z_]+){0,4}\(\))"
)
_BEFORE_NAME = r"(?<![\w-])[\w-]{0,40}?"

# Each shape with fixed texts of which it contains at least one: a text with none of them needs no regular expression.
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
# These ignore case. The text before the credential is kept: it says what was redacted.
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
    # Compiled at the first use: it takes as long as importing a good part of Longmind.
    return re.compile("|".join(_WHOLE)), re.compile("|".join(_AFTER), re.IGNORECASE)


def redact(text: str) -> str:
    """Return the text with each credential replaced by a mark.

    Most texts contain none of the marks of a credential, and are returned without a regular expression being run.
    Redacting a text twice changes nothing more.
    """
    whole, after = _patterns()
    if any(mark in text for mark in _MARKS):
        text = whole.sub(REDACTED, text)
    folded = text.casefold()
    if any(mark in folded for mark in _FOLDED_MARKS):
        text = after.sub(lambda found: f"{found[found.lastgroup or 0]}{REDACTED}", text)
    return text


def redact_json(value: Any, path: str = "") -> tuple[Any, list[str]]:
    """Return JSON with the credentials in its texts redacted, and the paths of the texts that had any."""
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
