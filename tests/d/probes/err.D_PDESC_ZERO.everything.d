/* Three colons match no probe without a function. */
::: { exit(0); }
