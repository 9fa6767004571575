/* A string ends on the line where it begins. */
BEGIN { printf("abc
"); }
