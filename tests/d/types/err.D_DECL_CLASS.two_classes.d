/* A declaration cannot have two storage classes. */
self this int i;
BEGIN { exit(0); }
