/* A description must match a probe. */
nosuch:::probe { exit(0); }
