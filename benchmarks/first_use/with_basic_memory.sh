# Its search by meaning needs a Python whose sqlite3 loads extensions, and a model from a hub.
export BASIC_MEMORY_SEMANTIC_SEARCH_ENABLED=false
basic-memory project add ada notes
basic-memory tool write-note --project ada --title Anna --folder facts --content "My sister Anna plays the cello."
basic-memory tool write-note --project ada --title Allergy --folder facts --content "I'm allergic to peanuts."
basic-memory tool write-note --project ada --title Train --folder facts --content "I take the train to Basel at nine."
basic-memory tool search-notes --project ada "$1"
