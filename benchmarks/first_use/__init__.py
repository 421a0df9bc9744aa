"""First use: from nothing installed to the first right answer, beside other products.

Each product gets an environment and a home of its own, and the shortest program of its documentation that stores three
facts and searches them. The programs are the files `with_…` here; lines and concepts are counted in them by one rule.
"""
