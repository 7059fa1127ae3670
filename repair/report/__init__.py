"""What people read: values to text. Pure; nothing here prints."""
