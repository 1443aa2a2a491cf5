"""Why did it fail: from the logs of one or many ranks to the first cause, and what to do."""
