import sys

from langgraph.store.sqlite import SqliteStore

with SqliteStore.from_conn_string("memory.db") as store:
    store.setup()
    store.put(("ada", "facts"), "1", {"text": "My sister Anna plays the cello."})
    store.put(("ada", "facts"), "2", {"text": "I'm allergic to peanuts."})
    store.put(("ada", "facts"), "3", {"text": "I take the train to Basel at nine."})
    for hit in store.search(("ada", "facts"), query=sys.argv[1]):
        print(hit.value["text"])
