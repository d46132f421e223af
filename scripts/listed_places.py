"""Well-known places that WordNet 3.0 lacks or that its glosses use more often as a word, written by hand.

Names that are mostly ordinary English words ("orange", "reading", "mobile") are left out, as are abbreviations of
states that are words ("or", "me", "in") or mean something else in queries ("md", "pa", "la").
"""

UNITED_STATES = """
alameda, alhambra, anchorage, annandale, arlington heights, arvada, ashland, auburn hills, az, bethesda, boca raton,
bradenton, brentwood, broward county, bryn mawr, buffalo, burbank, camarillo, cape coral, carrollton, cerritos,
champaign urbana, chesapeake, clarksville, clovis, college station, compton, cook county, coral gables, coral springs,
costa mesa, cranston, cupertino, dade county, daly city, daytona, dc, dearborn, denton, downey, dunedin, east lansing,
el cajon, el monte, escondido, fairfax, fairfield county, fl, fla, fontana, fort collins, framingham, fremont,
fullerton, garden grove, gatlinburg, gilroy, glendale, grand forks, grand prairie, hackensack, harris county, hayward,
hialeah, hilton head, hoboken, huntington beach, inglewood, irvine, joliet, key largo, ky, la jolla, laguna beach,
lake charles, lake placid, lakewood, lancaster county, livermore, los altos, los gatos, macomb county, malibu,
maricopa county, marietta, menlo park, milpitas, mission viejo, modesto, monmouth county, montgomery county, moreno
valley, murfreesboro, myrtle beach, napa, naperville, nashua, nassau county, new rochelle, newport beach, nh, nj,
norwalk, nv, ny, nyc, oak park, oceanside, okla, orange county, overland park, oxnard, palm desert, palm springs,
palmdale, penna, philly, pittsburg, pomona, pompano beach, port st lucie, poughkeepsie, prince george s county, rancho
cucamonga, redondo beach, redwood city, roseville, salinas, san fernando, san fernando valley, san juan capistrano,
san luis obispo, san rafael, santa clarita, santa monica, santa rosa, scottsdale, sedona, silver spring, simi valley,
skokie, spartanburg, stamford, stockton, suffolk county, sugar land, sunnyvale, temecula, tempe, tenn, thousand oaks,
tn, torrance, tx, usvi, vallejo, ventura, ventura county, visalia, walnut creek, warwick, washington dc, wayne county,
west covina, westchester, westchester county, white plains, wilkes barre, williamsburg, wisc, woodland hills, wv, wy,
yonkers, yuba city
"""

AMERICAS = """
abbotsford, aguascalientes, burnaby, cabo san lucas, cape breton, chiapas, cochabamba, cozumel, curacao, fort
mcmurray, fortaleza, grand cayman, ixtapa, kelowna, kitchener, laval, lima, machu picchu, mississauga, negril, ocho
rios, oshawa, playa del carmen, porto alegre, puerto vallarta, punta cana, red deer, sault ste marie, st thomas, turks
and caicos
"""

EUROPE = """
algarve, alicante, augsburg, basque country, benidorm, bergamo, bielefeld, bilbao, bochum, bournemouth, bradford,
brugge, brussels, catania, channel islands, chelmsford, cologne, costa brava, costa del sol, czechia, duisburg,
dundee, erfurt, exeter, freiburg, gran canaria, groningen, guernsey, heidelberg, ibiza, inverness, ipswich, karlsruhe,
kassel, kiel, kyiv, lanzarote, liege, lucerne, lviv, mainz, mallorca, mariupol, menorca, montpellier, mulhouse,
murcia, mykonos, norwich, nottingham, novi sad, odense, oxfordshire, palma de mallorca, poznan, pyrenees, ravenna,
saarbrucken, santorini, siena, sorrento, southampton, st andrews, st tropez, torquay, trieste, turku, uk,
wolverhampton, wuppertal, yekaterinburg
"""

ASIA_AFRICA_OCEANIA = """
ahmedabad, bengaluru, bursa, busan, cairns, chandigarh, chengdu, chiang mai, dongguan, eswatini, foshan, guwahati,
harbin, hebron, jaipur, kanpur, kaohsiung, kerala, kowloon, kunming, muscat, nagpur, pattaya, phuket, port elizabeth,
pune, qingdao, rajasthan, ramallah, sendai, shandong, shenzhen, siem reap, south sudan, surabaya, surat, suzhou,
tainan, uae, varanasi
"""

PLACES = frozenset(
    place.strip()
    for text in (UNITED_STATES, AMERICAS, EUROPE, ASIA_AFRICA_OCEANIA)
    for place in text.replace("\n", " ").split(",")
)
