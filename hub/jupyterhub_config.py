"""A JupyterHub on one machine. `python3 -m course_lib hub` starts it, and says on the command line where and for whom.

The settings are JupyterHub's own. Alone (jupyterhub -f hub/jupyterhub_config.py) it serves the machine's accounts on
http://127.0.0.1:8000. For a thousand learners there is values.yaml, beside this file.
"""

import os
import secrets
import sys
from pathlib import Path

c = get_config()  # noqa: F821 - JupyterHub gives it to the files that it reads
ROOT = Path(__file__).resolve().parents[1]

# Who may log in: the accounts of this machine, checked by PAM, but for its administrator
c.JupyterHub.bind_url = "http://127.0.0.1:8000"
c.JupyterHub.authenticator_class = "pam"
c.Authenticator.allow_all = True
c.Authenticator.blocked_users = {"root"}
# For trying, any name and one password. If the command has given none, nobody knows it.
c.DummyAuthenticator.password = os.environ.get("COURSE_HUB_PASSWORD") or secrets.token_hex(16)

# The server that each learner gets. -P: a file random.py in a learner's folder must not hide Python's own.
c.Spawner.cmd = [sys.executable, "-P", "-m", "jupyterhub.singleuser"]
c.Spawner.default_url = "/lab"
c.Spawner.start_timeout = 300  # seconds: a whole class starts at once, on a few cores
c.Spawner.http_timeout = 300
c.Spawner.poll_interval = 10  # so soon it is seen that a server has died, and can be started again
c.Spawner.args = [
    "--MappingKernelManager.cull_idle_timeout=3600",  # an idle kernel keeps 0.4 GB
    "--ServerApp.shutdown_no_activity_timeout=3600",  # and an idle server 0.1 GB
    "--LabApp.news_url=None",  # nothing is fetched from anywhere
    "--LabApp.check_for_updates_class=jupyterlab.handlers.announcements.NeverCheckForUpdate",
    "--LabApp.extension_manager=readonly",
    "--LanguageServerManager.autodetect=False",
]
if hasattr(os, "geteuid") and os.geteuid() == 0:
    c.Spawner.args += ["--allow-root"]  # needed only with --dummy in a container, where all run as its one user

# What a learner's programs see. Their records lie in their own home, since none of the hub's own variables is passed on.
c.Spawner.environment = {
    "PYTHONPATH": str(ROOT),  # where course_lib is
    "JUPYTER_CONFIG_PATH": str(ROOT / "course_lib" / "jupyter_settings"),  # no pop-up that offers news
    "JUPYTER_PREFER_ENV_PATH": "1",  # this Python's kernels before any of the learner's own
    "OMP_NUM_THREADS": "1",  # the cores are shared
}
