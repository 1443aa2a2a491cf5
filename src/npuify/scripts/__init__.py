"""Shell scripts that several commands write, and how templates of scripts are filled."""
