"""The web application: people take tests in a browser, and researchers look at environments."""
