"""For instructors: hand out (`release`), collect and mark (`mark`), and know how long a notebook takes (`timings`).

A learner's code never runs in the process that judges it. The way of one submission:

    intake      which files belong to which learner (folders, zips, single notebooks)
    zygote      a process in a sandbox that has torch loaded; for each submission it forks a child
    child       finds the answers in the notebook (finding), runs them, and answers questions: tensors in, tensors out
    marking     asks the questions, compares with references that the child has never seen, and gives the verdict
    report      one table, one page for each learner, one overview of the class
"""
