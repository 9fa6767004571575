/* A symbol in a module that is not there is not known. */
BEGIN { x = nomodule`nosymbol; }
