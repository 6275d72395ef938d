"""What only the instructor has. `release` leaves this folder out, and a learner's process cannot see it.

    probes.py    fresh inputs for every exercise, drawn anew for each learner
    variants.py  graded exercises: the skill of a practised one, with another specification
"""
