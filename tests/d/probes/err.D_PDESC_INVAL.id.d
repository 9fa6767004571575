/* A number that is used as a probe description must be the id of a probe. */
99999 { exit(0); }
