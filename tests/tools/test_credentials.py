"""Credentials do not get out in an answer, and ordinary words do."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from longmind.tools import Tools
from longmind.tools.redaction import REDACTED, redact, redact_json

# Made up, and put together here so that nothing that looks like a key stands in a file.
HEX = "9f8e7d6c5b4a39281706f5e4d3c2b1a0"
MIXED = "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
CREDENTIALS = {
    "a bearer token": (f"Authorization: Bearer {HEX}", HEX),
    "a bearer token in prose": (f"call it with bearer {MIXED} as the header", MIXED),
    "a web token": (f"eyJ{MIXED}.{MIXED}.{HEX}", MIXED),
    "a token of GitHub": (f"push with ghp_{MIXED} please", MIXED),
    "a newer token of GitHub": (f"github_pat_{MIXED}_{HEX}", HEX),
    "a key of Google": (f"the key is AIza{MIXED}", MIXED),
    "a token of Google": (f"ya29.{MIXED}", MIXED),
    "a secret key": (f"sk-proj-{MIXED}", MIXED),
    "a live secret key": (f"sk_live_{MIXED}", MIXED),
    "a public key id": (f"pk-{HEX}", HEX),
    "a live public key": (f"pk_live_{MIXED}", MIXED),
    "a key of Amazon": ("AKIA" + "ABCDEFGHIJ234567 is the id", "ABCDEFGHIJ234567"),
    "an address with a password": ("postgresql://ada:hunter22@db.example.com:5432/app", "hunter22"),
    "an address without a user": ("redis://:s3cr3t@cache:6379/0", "s3cr3t"),
    "an address of a cluster": ("mongodb+srv://ada:p4ss@cluster0.example.net/x?w=1", "p4ss"),
    "a header": (f"curl -H 'x-api-key: {HEX}'", HEX),
    "an assignment": ("api_key=abcd1234", "abcd1234"),
    "an assignment in a program": (f'API_KEY = "{HEX}"', HEX),
    "an environment variable": ("export OPENAI_API_KEY=whatever-it-is", "whatever-it-is"),
    "a field of JSON": ('{"api_key": "abcd1234efgh"}', "abcd1234efgh"),
    "a password in a connection string": ("Server=db;User=ada;Password=hunter22;", "hunter22"),
    "a private key": (f"-----BEGIN RSA PRIVATE KEY-----\n{MIXED}\n-----END RSA PRIVATE KEY-----", MIXED),
    "a private key that was cut off": (f"-----BEGIN PRIVATE KEY-----\n{MIXED}", MIXED),
    "a token of Slack": (f"xoxb-123456789012-{MIXED}", MIXED),
    "a token of an app of Slack": (f"xapp-1-A0123-456-{HEX}", HEX),
    "a hook of Slack": (f"https://hooks.slack.com/services/T0001/B0002/{MIXED}", MIXED),
    "a bot of Telegram": ("123456789" + f":AAF{MIXED[:32]}", MIXED[:32]),
    "a key of Groq": (f"gsk_{MIXED}", MIXED),
    "a token of Shopify": (f"shpat_{HEX}", HEX),
    "a token of Databricks": (f"dapi{HEX}", HEX),
    "a bearer token with a colon": (f"Bearer: {HEX}", HEX),
    "a bearer token that is called one": (f"the bearer token {MIXED}", MIXED),
    "a header without a digit": ("X-API-Key: abcdefghijklmnop", "abcdefghijklmnop"),
    "a short header": ("x-api-key: abc123", "abc123"),
    "an assignment with dashes": ("--api-key=abcdefghijkl", "abcdefghijkl"),
    "a secret of Amazon in a file": (f"aws_secret_access_key = {MIXED}/bPxRfiCY", MIXED),
    "a secret in camels": (f"clientSecret={MIXED}", MIXED),
    "fields in camels": ('{"accessToken": "hunter22", "clientSecret": "hunter22"}', "hunter22"),
    "a field of JSON in JSON": (r"{\"api_key\": \"" + HEX + r"\"}", HEX),
    "a password in a file": ("password: hunter2", "hunter2"),
    "a password in a program": ("password = 'hunter2'", "hunter2"),
    "a password of a database": ("DB_PASS=hunter22", "hunter22"),
    "a password of digits": ("PGPASSWORD=12345678", "12345678"),
    "a password with a sign": ("password=$ecret99", "ecret99"),
    "a secret key of a site": ("SECRET_KEY=django-insecure-abc", "django-insecure-abc"),
    "a header with a token": (f"X-Auth-Token: {HEX}", HEX),
}

PROSE = [
    "Prefers short answers, and no emojis.",
    "The bearer of this letter is a friend; bearer responsibilities are described elsewhere.",
    "My secret: I love cake. The token of my gratitude is on the table.",
    "Her password manager is Bitwarden, and the API key is kept by Bob.",
    "Ask Bob for the api key: he is responsible for it.",
    "See https://example.com:8080/path?user=ada@example.com and mailto:ada@example.com",
    "The meeting is at 10:30@office, see ftp://files.example.com/a:b",
    "Uses sk-learn and pk-internationalization-library in the project.",
    "He sang sk-sk-sk-sk-sk-sk-sk-sk-sk all day.",
    "AKIA is also a name; AKIAra lives in Kyoto.",
    "Commit 3f2a9c1d8e7b6a5f4e3d2c1b0a9f8e7d6c5b4a39 broke the build.",
    "Order 9f8e7d6c-5b4a-3928-1706-f5e4d3c2b1a0 was shipped.",
    "Call 1-800-555-0199 or +43 316 123456, account 4711.",
    "The key to success is practice; the key is under the mat.",
    "Basic authorization: bring your passport.",
    "Public key cryptography uses a public key and a private key.",
    "Die Schl\u00fcssel liegen im Flur. \u9375\u306f\u7384\u95a2\u306b\u3042\u308a\u307e\u3059\u3002",
    "tokenization=on in the settings of the model",
    "sk-learn-contrib-2024-release and pk_user_accounts_2024_idx",
    "xoxo-love-you-lots, Ada",
    "The working directory: pwd=/home/ada/src and PWD=~/src",
    "login(password=None), token=os.environ['TOKEN'], api_key=settings.api_key, secret=true",
    "password=getpass.getpass() or password=${DB_PASSWORD} or password=$DB_PASSWORD",
    "password=<your password> or api_key=<KEY> or password=****",
    "The password: at least 8 characters. The secret: butter. Token: see page 12.",
    "max_tokens=4096, primary_key=True, sort_key=created_at, monkey=banana, keyword=test1234",
    "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk",
    "sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
    "git@github.com:ada/repo.git, https://medium.com/@ada/post-123, ssh://git@host:22/x.git",
    "-----BEGIN PUBLIC KEY-----\nMIIB\n-----END PUBLIC KEY-----",
]


@pytest.mark.conforms("B5.5")
@pytest.mark.parametrize("what", CREDENTIALS)
def test_a_credential_is_taken_out(what: str) -> None:
    text, secret = CREDENTIALS[what]
    assert secret in text
    clean = redact(text)
    assert secret not in clean
    assert REDACTED in clean


@pytest.mark.conforms("B5.5")
@pytest.mark.parametrize("text", PROSE)
def test_ordinary_words_stay(text: str) -> None:
    assert redact(text) == text


@pytest.mark.conforms("B5.5")
def test_no_answer_has_a_credential_in_it(tools: Tools) -> None:
    text, secret = CREDENTIALS["a token of GitHub"]
    stored = tools.memory_store("preference", text, tags=[f"ghp_{MIXED}"])
    answers = [
        stored.as_json(),
        tools.memory_search("push").as_json(),
        tools.memory_search().as_json(),
        tools.memory_brief().as_json(),
        {"text": tools.session_brief()},
    ]
    assert stored.tags == [REDACTED]
    for answer in answers:
        assert secret not in str(answer)
        assert REDACTED in str(answer)


def test_the_places_of_credentials_are_told() -> None:
    value = {"a": [{"b": f"ghp_{MIXED}"}, "plain"], "c": 5, "d": f"sk-{HEX}"}
    clean, paths = redact_json(value)
    assert clean == {"a": [{"b": REDACTED}, "plain"], "c": 5, "d": REDACTED}
    assert paths == ["a[0].b", "d"]


@given(st.text(alphabet="sk-_pAKIeyJ.:/@ \n=bearx0", max_size=400))
def test_what_was_redacted_once_stays_as_it_is(text: str) -> None:
    once = redact(text)
    assert redact(once).count(REDACTED) == once.count(REDACTED)


@pytest.mark.parametrize(
    "text", ["sk-" * 40_000, "a:" * 60_000 + "@", "-----BEGIN PRIVATE KEY-----" * 4_000, "x_" * 60_000, "a-" * 60_000]
)
def test_a_long_text_takes_no_long_time(text: str) -> None:
    # A tenth of a second where time grows with the text, and minutes where it grows with its square.
    began = time.thread_time()
    redact(text)
    assert time.thread_time() - began < 10.0
