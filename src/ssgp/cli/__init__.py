"""The command line ``ssgp``.

`entry` starts it, `app` has the commands and their options, and every command is a module that is imported when it
runs. Needs the extra ``cli``.
"""
