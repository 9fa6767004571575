/* A program that contains only comments is refused as empty. */
/* nothing else */
