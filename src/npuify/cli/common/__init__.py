"""What the commands share: options, output, progress, language and errors."""
