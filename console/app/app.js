document.getElementById("app").textContent = "The console";
