/* A static probe can have at most 29 arguments. */
provider web {
	probe go(int, int, int, int, int, int, int, int, int, int, int, int, int, int, int,
	    int, int, int, int, int, int, int, int, int, int, int, int, int, int, int);
};
BEGIN { exit(0); }
