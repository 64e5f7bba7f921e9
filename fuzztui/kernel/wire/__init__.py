"""Events, commands and their JSON-lines codec.

Pure data, standard library only: engines import this room under the interpreter of the target.
"""
