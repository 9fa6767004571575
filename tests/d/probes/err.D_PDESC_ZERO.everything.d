/* The probe description ::: matches only probes that have a function. */
::: { exit(0); }
