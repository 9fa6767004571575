/* A character constant ends on the line where it begins. */
BEGIN { x = 'a
'; }
