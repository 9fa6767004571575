/* A description matches a probe. */
nosuch:::probe { exit(0); }
