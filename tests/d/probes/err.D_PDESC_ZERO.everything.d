/* A description of three colons matches only probes that have a function. */
::: { exit(0); }
