/* A float cannot be short. */
short float f;
BEGIN { exit(0); }
