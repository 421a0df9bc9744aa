import sys

from mem0 import Memory

memory = Memory()
memory.add("My sister Anna plays the cello.", user_id="ada")
memory.add("I'm allergic to peanuts.", user_id="ada")
memory.add("I take the train to Basel at nine.", user_id="ada")
for hit in memory.search(sys.argv[1], filters={"user_id": "ada"})["results"]:
    print(hit["memory"])
