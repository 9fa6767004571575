/* A string must end on the line where it begins. */
BEGIN { printf("abc
"); }
