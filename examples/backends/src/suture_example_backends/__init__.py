"""Two small backends for Suture. Installing the package is enough: Suture finds them by their entry points."""
