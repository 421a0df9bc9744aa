"""The API in a browser: pages of HTML rendered from the OpenAPI document, without scripts and without other servers."""
