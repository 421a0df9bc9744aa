import sys

import longmind

memory = longmind.Memory("ada")
memory.add("My sister Anna plays the cello.")
memory.add("I'm allergic to peanuts.")
memory.add("I take the train to Basel at nine.")
print(memory.search(sys.argv[1]))
