/* A character constant has a character. */
BEGIN { x = ''; }
