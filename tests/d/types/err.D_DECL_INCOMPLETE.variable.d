/* A variable's struct has a body. */
struct later;
struct later x;
BEGIN { exit(0); }
