/* A probe description must match a probe. */
nosuch:::probe { exit(0); }
