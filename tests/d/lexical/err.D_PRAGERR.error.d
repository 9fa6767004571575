/* #error ends the compilation, and its text is the error message. */
#error not on this machine
BEGIN { exit(0); }
