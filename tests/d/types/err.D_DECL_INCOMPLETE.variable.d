/* The struct type of a variable must be defined. */
struct later;
struct later x;
BEGIN { exit(0); }
