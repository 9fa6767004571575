/* A number names a probe that exists. */
99999 { exit(0); }
