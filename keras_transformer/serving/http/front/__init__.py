"""What a request passes before it is answered: the limits of its connection, the names that the
server goes by, and the check of whom it answers.
"""
