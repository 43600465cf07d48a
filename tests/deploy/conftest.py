"""The image is tried where one was built: by `make image-test`, which needs root and takes minutes."""

import os

collect_ignore = [] if "TASKYARD_IMAGE_ROOT" in os.environ else ["test_image.py"]
