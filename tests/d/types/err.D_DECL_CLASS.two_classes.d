/* A declaration has one storage class. */
self this int i;
BEGIN { exit(0); }
