import sys

from langgraph.store.memory import InMemoryStore

store = InMemoryStore()
store.put(("ada", "facts"), "1", {"text": "My sister Anna plays the cello."})
store.put(("ada", "facts"), "2", {"text": "I'm allergic to peanuts."})
store.put(("ada", "facts"), "3", {"text": "I take the train to Basel at nine."})
for hit in store.search(("ada", "facts"), query=sys.argv[1]):
    print(hit.value["text"])
