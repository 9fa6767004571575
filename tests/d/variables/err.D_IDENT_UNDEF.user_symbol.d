/* A symbol in a module that does not exist is unknown. */
BEGIN { x = nomodule`nosymbol; }
