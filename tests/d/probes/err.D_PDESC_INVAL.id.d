/* A number must be the id of a probe. */
99999 { exit(0); }
