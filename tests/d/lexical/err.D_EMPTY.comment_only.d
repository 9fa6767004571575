/* A program of comments alone is empty. */
/* nothing else */
